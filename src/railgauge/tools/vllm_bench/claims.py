"""What the serving benchmark says of its load, beside what was asked for."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.tools.claims import Asked, Claim, Heard, equal

_DEFAULT_PROMPTS = 1000
# Random tokens become text and tokens again, and are then a few more or fewer.
_TOKENS_APART = 0.1


def claims(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
    """Requests, their rate and concurrency, and how many tokens went in and came out."""
    parsed = heard[0].parsed
    said = parsed.summary
    values = {sample.metric: sample.value for sample in parsed.samples}
    prompts = asked.option("num_prompts", _DEFAULT_PROMPTS)
    found = [_count("requests", prompts, values.get("completed"))]
    found += _tokens(asked, prompts, values)
    rate = said.get("request_rate_configured_rps", said.get("request_rate"))
    found.append(_rate(asked.option("request_rate", "inf"), rate))
    if asked.option("max_concurrency") is not None:
        shown = said.get("maximum_request_concurrency", said.get("max_concurrency"))
        found.append(equal("concurrency", asked.option("max_concurrency"), shown))
    found.append(equal("model", asked.option("model"), said.get("model_id")))
    return tuple(found)


def _count(item: str, asked: object, said: float | None) -> Claim:
    return equal(item, asked, None if said is None else f"{said:g}")


def _tokens(asked: Asked, prompts: object, values: dict[str, float]) -> Iterator[Claim]:
    """Only where lengths were asked for; answers have theirs unless they may end early."""
    lengths = {"input tokens": ("input_len", "input_tokens")}
    if asked.option("ignore_eos", True):
        lengths["generated tokens"] = ("output_len", "generated_tokens")
    for item, (option, metric) in lengths.items():
        length, said = asked.option(option), values.get(metric)
        if not isinstance(length, int) or not isinstance(prompts, int):
            continue
        wanted = length * prompts
        shown = None if said is None else f"{said:.0f}"
        near = said is None or abs(said - wanted) <= _TOKENS_APART * wanted
        yield Claim(item, f"{wanted} ({length} for each of {prompts})", shown, near)


def _rate(asked: object, said: object) -> Claim:
    """No limit is not printed by itself, so that only a limit can deny it."""
    if said is None:
        return Claim("request rate", str(asked), None)
    try:
        same = float(str(asked)) == float(str(said))
    except ValueError:
        same = False
    return Claim("request rate", str(asked), str(said), same)

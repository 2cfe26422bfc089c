"""The study has other noise and physics if it is asked for, and the model bears with them."""

from __future__ import annotations

from argparse import ArgumentParser
from random import Random

import pytest
from blind_count import counted, wrong_causes
from blind_draw import DrawnRun
from blind_reach import reach
from healthy_seeds_lab import InProcessLab, using_lab
from injections import Injection
from quick_study import FaultTiming, missed, one, play
from study_conditions import PHYSICS, Conditions, add_options

from railgauge.diagnosis.slow.constants import DECIDED
from railgauge.planning import plan, sample
from railgauge_lab.sim.physics import GPU_LINKS, HIDING, NICS


def measured(fault: str, key: str, metric: str, **conditions: object) -> list[float]:
    """The values of a case of MI300X nodes with this fault."""
    lab = InProcessLab("mi300x", count=3, injected=[fault] if fault else [], **conditions)
    lab.reseed(0 if "noise" not in conditions else 7)
    level = sample.level(lab.platform, lab.cluster, "smoke", 2, sampled=False)
    case = next(case for _, case in plan.cases(lab.platform, level) if case.key == key)
    with using_lab(lab):
        runs = lab.measured(case).runs
    return [one.value for run in runs for one in run.samples if one.metric == metric]


def test_a_slow_gpu_slows_its_own_links_and_no_other():
    key, metric = "gpu_link_bandwidth[mi02]", "link_bw"
    fine = measured("", key, metric, physics=(GPU_LINKS,))
    slow = measured("slow-gpu@mi02:gpu3=10%", key, metric, physics=(GPU_LINKS,))
    shares = sorted(round(a / b, 2) for a, b in zip(slow, fine, strict=True))
    assert shares == [0.9] * 14 + [1.0] * 42
    assert measured("slow-gpu@mi02:gpu3=10%", key, metric) == fine


def test_a_slow_nic_costs_the_others_half_of_its_loss():
    other = "host_write_bandwidth[mi01:mi02-mlx5_4]"
    (fine,) = measured("", other, "bw_average", physics=(NICS,))
    (slow,) = measured("slow-nic@mi02:mlx5_3=10%", other, "bw_average", physics=(NICS,))
    assert slow / fine == pytest.approx(0.95, abs=0.001)
    assert measured("slow-nic@mi02:mlx5_3=10%", other, "bw_average") == [fine]


def test_on_some_paths_the_larger_loss_hides_the_smaller():
    found = set()
    for nic in range(8):
        lab = InProcessLab(
            "mi300x",
            count=3,
            injected=["slow-node@mi02=10%", f"slow-nic@mi02:mlx5_{nic}=20%"],
            physics=(HIDING,),
        )
        level = sample.level(lab.platform, lab.cluster, "smoke", 2, sampled=False)
        key = f"host_write_bandwidth[mi01:mi02-mlx5_{nic}]"
        case = next(case for _, case in plan.cases(lab.platform, level) if case.key == key)
        with using_lab(lab):
            (sample_,) = [s for s in lab.measured(case).runs[0].samples if s.metric == "bw_average"]
        (fine,) = measured("", key, "bw_average")
        found.add(round(sample_.value / fine, 2))
    assert found == {0.72, 0.8}


def test_noise_is_a_multiple_of_the_documents():
    key = "gpu_link_bandwidth[mi02]"
    best = measured("", key, "link_bw")
    for noise in (0.3, 3.0):
        usual = measured("", key, "link_bw", noise=1.0)
        other = measured("", key, "link_bw", noise=noise)
        lost = [1 - a / b for a, b in zip(usual, best, strict=True)]
        lost_then = [1 - a / b for a, b in zip(other, best, strict=True)]
        assert lost_then == pytest.approx([noise * one for one in lost], abs=1e-4)


def test_a_varying_fault_loses_at_least_its_share_and_at_most_its_severity():
    timing = FaultTiming.of("slow-nic@mi02:mlx5_3=10%,after=30s,least=0.4")
    random = Random(1)
    lost = [float(timing.at(random).partition("=")[2].removesuffix("%")) for _ in range(200)]
    assert 4 <= min(lost) < 4.5
    assert 9.5 < max(lost) <= 10
    assert timing.after_s == 30


def test_what_can_show_a_fault_knows_the_physics():
    """With physics that slows links, the links of a slow GPU can show it."""
    gpu = Injection("mi300x", "slow-gpu", "slow-gpu@mi02:gpu3=20%", "slow-gpu", "mi02", "gpu3")
    link = {"subject": "gpu_link_bandwidth", "nodes": ["mi02"], "size_bytes": None}
    link |= {"pairing": "gpu3>gpu4"}
    for physics, shows in (((GPU_LINKS,), True), ((), False)):
        run = DrawnRun(0, "mi300x", 3, 7, "smoke", (gpu,), physics=physics)
        assert reach(run, gpu).shows(link) is shows


def test_an_unknown_physics_is_refused(capsys):
    parser = ArgumentParser()
    add_options(parser)
    assert parser.parse_args(["--physics", ",".join(PHYSICS)]).physics == PHYSICS
    with pytest.raises(SystemExit):
        parser.parse_args(["--physics", "gravity"])
    assert "gravity; known: gpu-links" in capsys.readouterr().err


# Seed and number of a run, conditions, and what it teaches.
RUNS = {
    (620001, 2, 1.0, "nics"): "of two slow NICs the smaller loss may be an effect of the larger",
    (620001, 46, 1.0, "nics"): "a node with a slow NIC may be slow for that NIC",
    (620001, 60, 3.0, ""): "links of much noise do not keep the search from what collectives show",
    (620001, 70, 3.0, ""): "a path is found beside links of much noise",
    (620001, 30, 1.0, "varying"): "a node that loses another share each time is one fault",
    (840001, 23, 3.0, ""): "latencies of much noise make no straggler of a node",
    (840001, 65, 3.0, ""): "latencies of much noise make no straggler of a path",
    (840001, 10, 1.0, "nics"): "two nodes may each be slow for a NIC of theirs",
    (840001, 43, 1.0, "nics"): "a node may be slow at times for a NIC that is slow at times",
    (840001, 66, 1.0, "nics"): "both directions of all NICs of a node may be slow for one of them",
}


@pytest.mark.parametrize(("seed", "number", "noise", "physics"), RUNS, ids=str)
def test_no_decided_cause_is_wrong_under_conditions_that_the_model_was_not_told(
    seed, number, noise, physics
):
    conditions = Conditions(noise, (physics,) if physics else ())
    found = one(number, seed, conditions)
    assert not missed(found.outcome), [*found.outcome.wrong, *found.outcome.counted]
    assert all(p >= DECIDED for p, _ in found.sure)


def slow(name: str, device: str, severity: int) -> Injection:
    at = f"mx02:{device}" if device else "mx02"
    return Injection("metax-c500", name, f"{name}@{at}={severity}%", name, "mx02", device)


def counts_of(*injected: Injection) -> list[str]:
    run = DrawnRun(0, injected[0].platform, 4, 7, "smoke", injected)
    studied = play(run).studied
    assert wrong_causes(studied) == []
    return [one.count.name for one in counted(studied)]


def test_the_smaller_of_two_faults_of_a_node_is_named_undecided():
    """In truth it may be a fault of its own."""
    found = counts_of(slow("slow-nic", "mlx5_0", 18), slow("slow-nic", "mlx5_1", 9))
    assert found[0] == "EXACT"
    assert found[1] in ("UNDECIDED", "AMONG")


def test_a_slow_node_that_its_gpus_show_as_well_is_decided_beside_its_slow_nic():
    """An effect of the NIC would slow no copy of the GPUs."""
    assert counts_of(slow("slow-node", "", 8), slow("slow-nic", "mlx5_1", 12)) == ["EXACT", "EXACT"]

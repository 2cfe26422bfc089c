"""Samples of one group, and how often the tests for drift and two groups are wrong about them.

``python selftests/testing/dispersion_nulls.py`` makes the critical values of ``dispersion`` anew:
for each number of samples and each kind of noise the split that one trial in ten thousand
undercuts, and four fifths of the smallest of them, to be on the safe side of chance. The table in
the code was made with 100,000 trials of each kind of noise (300,000 up to 10 samples, and for 20
and 25), a fifth of that beyond 40 samples.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable

from railgauge.judging.dispersion import best_split

# How often the rules of dispersion may be wrong about samples of one group.
FALSE_ALARM_RATE = 1e-4

SIZES = (4, 5, 6, 7, 8, 10, 14, 16, 20, 25, 30, 40, 100)
_SAFETY = 0.8
_LARGE = 40

# Noise of mean 0 and standard deviation 1, from a source of chance.
Noise = Callable[[random.Random], float]

_ROOT_3 = 3**0.5
_LOG_MEAN, _LOG_DEVIATION = 1.133148, 0.603901  # of a log-normal with sigma 0.5

SHAPES: dict[str, Noise] = {
    "normal": lambda chance: chance.gauss(0, 1),
    "uniform": lambda chance: (2 * chance.random() - 1) * _ROOT_3,
    "exponential down": lambda chance: 1 - chance.expovariate(1),
    "exponential up": lambda chance: chance.expovariate(1) - 1,
    "log-normal up": lambda c: (c.lognormvariate(0, 0.5) - _LOG_MEAN) / _LOG_DEVIATION,
    "log-normal down": lambda c: (_LOG_MEAN - c.lognormvariate(0, 0.5)) / _LOG_DEVIATION,
}
# How far one outlier lies below the mean, in standard deviations; 0 is none.
OUTLIERS = (0, 5, 10, 30)

# What the table is made from. The statistic does not see to which side the noise lies, so one side
# is enough; outliers lie to the far side of the tail and beyond the tail.
NULLS = [
    (shape, outlier)
    for shape in ("normal", "uniform", "exponential down", "exponential up", "log-normal down")
    for outlier in OUTLIERS
    if outlier or shape != "exponential up"
]


def samples(
    chance: random.Random, n: int, shape: str, outlier: float = 0, cv: float = 0.01
) -> list[float]:
    """``n`` samples around 1, of one group with the noise ``cv``, one of them an outlier.

    Nothing measured is 0 or less: noise beyond that ends a little above 0.
    """
    noise = SHAPES[shape]
    values = [1 + cv * noise(chance) for _ in range(n)]
    if outlier:
        values[chance.randrange(n)] = 1 - cv * outlier
    return [value if value > 0.02 else 0.02 + 0.01 * chance.random() for value in values]


def quantile(chance: random.Random, n: int, null: tuple[str, float], trials: int) -> float:
    """What ``FALSE_ALARM_RATE`` of the trials leave of the variance, or less."""
    rank = max(1, int(trials * FALSE_ALARM_RATE))
    least = sorted(best_split(sorted(samples(chance, n, *null)))[1] for _ in range(trials))
    return least[rank - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description="critical values for two groups")
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    options = parser.parse_args()
    for n in options.sizes:
        trials = options.trials if n <= _LARGE else options.trials // 5
        found = {null: quantile(random.Random(f"{n} {null}"), n, null, trials) for null in NULLS}
        worst = min(found, key=found.__getitem__)
        line = f"{n}: {_SAFETY * found[worst]:.2g},  # {trials} trials, worst: {worst}"
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

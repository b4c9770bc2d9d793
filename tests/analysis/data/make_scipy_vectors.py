# SPDX-License-Identifier: Apache-2.0
"""Writes the lines of scipy_vectors.txt: python3 make_scipy_vectors.py (Debian: python3-scipy)."""
import warnings

from scipy import stats

warnings.simplefilter("ignore")
NAN = float("nan")


def inputs(seed, n, levels, weight):
    state = seed

    def draw():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % levels

    pairs = [(draw(), draw()) for _ in range(n)]
    return [float(a) for a, _ in pairs], [float(a * weight + b) for a, b in pairs]


def coefficients(x, y):
    tau = stats.kendalltau(x, y)
    values = [tau.correlation, tau.pvalue]
    if len(set(x)) < 2 or len(set(y)) < 2:
        return values + [NAN] * 4
    r = stats.pearsonr(x, y)
    rho = stats.spearmanr(x, y)
    return values + [r.statistic, r.pvalue, rho.correlation, rho.pvalue]


def main():
    seed = 0
    for n in list(range(2, 41)) + [50, 64, 65, 100, 200, 333, 500, 1000, 2000]:
        repeats = 45 if n <= 41 else 8 if n <= 200 else 3
        for k in range(repeats):
            seed += 1
            levels = [1, 2, 3, 5, 10, 100, 2**31][k % 7] if k % 7 or n < 12 else 4
            weight = [0, 1, -1, 3, -2][k % 5]
            values = coefficients(*inputs(seed, n, levels, weight))
            print(seed, n, levels, weight, *[repr(float(v)) for v in values])


if __name__ == "__main__":
    main()

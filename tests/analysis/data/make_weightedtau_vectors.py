# SPDX-License-Identifier: Apache-2.0
"""Writes the lines of weightedtau_vectors.txt: python3 make_weightedtau_vectors.py (python3-scipy)."""
from scipy import stats

from make_scipy_vectors import inputs


def main():
    seed = 100000
    for n in list(range(2, 33)) + [50, 100, 333, 1000, 2000]:
        for k in range(14 if n <= 32 else 7):
            seed += 1
            levels = [1, 2, 3, 5, 10, 100, 2**31][k % 7]
            weight = [0, 1, -1, 3, -2][k % 5]
            x, y = inputs(seed, n, levels, weight)
            print(seed, n, levels, weight, repr(float(stats.weightedtau(x, y).correlation)))


if __name__ == "__main__":
    main()

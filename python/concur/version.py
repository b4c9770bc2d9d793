# SPDX-License-Identifier: Apache-2.0
"""The version of the package: that of the programs (tests/python compares them)."""

VERSION = "0.2.0"

"""Benchmarks of tasks that a provider draws from a seed.

* ``providers``: making a provider from a name, and a benchmark from what it draws;
* ``conformance``: whether a provider keeps to its contract.
"""

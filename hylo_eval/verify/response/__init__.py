"""Scoring of a model's text response against typed truth: the Trace contract v0 and its siblings.

Every module here is pure: no clock, randomness, file or network. Import the public names from
`hylo_eval.verify`.
"""

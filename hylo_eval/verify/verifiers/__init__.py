"""Verifiers: references to what already has the answer - a rubric, a plugin's function, an endpoint - as functions.

A verifier that cannot answer raises :class:`hylo_eval.errors.VerificationError`; it never says 0.0. The three kinds and
their contract are the platform's; that nothing is built in is part of it.
"""

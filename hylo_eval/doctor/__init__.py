"""What is installed here, what of it works, and how to mend what does not.

* ``findings``: the report and its parts;
* ``packages``: versions against the known-good table, the pair of packages that do not go together;
* ``imports``, ``rendering``, ``machine``: what only a trial shows, in child processes with deadlines;
* ``interpreters``: families that run in an interpreter of their own;
* ``examination``: runs everything and never raises.
"""

from hylo_eval.doctor.examination import examine
from hylo_eval.doctor.findings import Finding, Report

__all__ = ["Finding", "Report", "examine"]

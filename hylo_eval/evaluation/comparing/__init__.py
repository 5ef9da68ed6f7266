"""From run folders to verdicts: evidence, records, the gate, races, and many versions beside each other."""

"""Environment families. Each is a Gymnasium-API env behind one factory; families do not know each other."""

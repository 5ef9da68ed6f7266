"""The one control loop."""

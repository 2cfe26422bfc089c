"""What slows a step of the scaling ladder, and where. Pure."""

"""What the command offers besides conversion: inspect, validate, compare, demo."""

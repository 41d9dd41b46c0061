"""Functions for the commands inspect, validate and demo."""

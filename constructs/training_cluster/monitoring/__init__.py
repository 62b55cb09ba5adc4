"""Metrics, alarms, dashboard, cost estimate and budget."""

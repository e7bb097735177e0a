"""Estimation of a vehicle's motion from its sensors: an error-state Kalman filter."""

from __future__ import annotations

from propwash.estimate._filter import ErrorStateFilter

__all__ = ["ErrorStateFilter"]

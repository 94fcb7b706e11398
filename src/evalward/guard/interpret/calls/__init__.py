"""Calls and constructions: functions of the payload, of the catalogue, of nobody known (ECMA-262 §7.3.13, §10.2)."""

"""The mapping between the protocol's enum numbers and the guard's targets, shapes and profiles."""

from __future__ import annotations

from evalward.guard.rules import Hardening
from evalward.guard.target import Profile, Shape, Target
from evalward.v1 import evalward_pb2 as pb

TARGETS = {getattr(pb, f"TARGET_{target.name}"): target for target in Target}
SHAPES = {getattr(pb, f"SHAPE_{shape.name}"): shape for shape in Shape}
PROFILES = {getattr(pb, f"PROFILE_{profile.name}"): profile for profile in Profile}
TARGET_NUMBERS = {target: number for number, target in TARGETS.items()}
SHAPE_NUMBERS = {shape: number for number, shape in SHAPES.items()}
PROFILE_NUMBERS = {profile: number for number, profile in PROFILES.items()}
HARDENING: dict[int, Hardening] = {
    pb.HARDEN_OFF: Hardening.OFF,
    pb.HARDEN_REQUIRED: Hardening.REQUIRED,
}

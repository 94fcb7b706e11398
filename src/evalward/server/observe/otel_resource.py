"""The OpenTelemetry resource of this process, for ``evalward[otel]``."""

from __future__ import annotations

from importlib.metadata import version

from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource


def own_resource() -> Resource:
    """Return the service's name and version; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override them."""
    own = {SERVICE_NAME: "evalward", SERVICE_VERSION: version("evalward")}
    return Resource.create().merge(Resource(own)).merge(OTELResourceDetector().detect())

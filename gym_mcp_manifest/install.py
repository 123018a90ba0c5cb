"""`expose`: the one orchestrator. It plans, refuses loudly, and hooks two ASGI layers into the app."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.dispatch.call import Dispatcher
from gym_mcp_manifest.endpoint.door import ToolDoor
from gym_mcp_manifest.endpoint.front import Endpoint, FrontLayer
from gym_mcp_manifest.endpoint.interface import HostProtection, ServerIdentity
from gym_mcp_manifest.errors import ExposureRefused
from gym_mcp_manifest.instance import Instance, instance_from_block
from gym_mcp_manifest.manifest.loader import Manifest, load_manifest, manifest_from_mapping
from gym_mcp_manifest.manifest.specs import SpecSet, gather_specs
from gym_mcp_manifest.plan import ExposurePlan, PlanInputs, build_plan
from gym_mcp_manifest.protocol import Protocol, ProtocolLayer
from gym_mcp_manifest.routes.harvest import harvest_routes
from gym_mcp_manifest.routes.middleware import (
    has_middleware,
    installed_middleware,
    kept_back,
    place_inside_sessions,
    session_cookie,
    session_secret,
)
from gym_mcp_manifest.routes.objects import source_data
from gym_mcp_manifest.session.cookie import SessionCookie
from gym_mcp_manifest.session.rules import AllowRules
from gym_mcp_manifest.session.seed import Seeder
from gym_mcp_manifest.session.store import SessionStore
from gym_mcp_manifest.session.token import TokenSigner
from gym_mcp_manifest.verify import Verifier
from gym_mcp_manifest.version import __version__

__all__ = ["expose", "plan_exposure"]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

log = logging.getLogger("gym_mcp_manifest")


def expose(
    app: FastAPI,
    *,
    name: str,
    manifest: str | Path | Mapping[str, Any] | Manifest | None = None,
    instance: Any = None,
    secret: str | Sequence[str] | None = None,
    folder: str | Path | None = None,
) -> ExposurePlan:
    """Serve the app's routes as MCP tools at `/mcp`, as the manifest says and the instance allows.

    Call it when the app has its routes; middleware, exception handlers and routes that are added later, but
    before the first request, still count. Where exposure is off the app is left untouched.

    Args:
        app: The FastAPI app; its code, handlers and routes stay as they are.
        name: The instance's name: the server's name on the wire.
        manifest: A path, data in the manifest language, a `Manifest`, or None for the language's defaults.
        instance: The instance's block, `{"expose_tools_over_mcp": True, ...}`, as a mapping or an OmegaConf
            node. Without it exposure is off.
        secret: Signs the session tokens; of several the first signs and all verify. Default: the block's
            `mcp_secret`, else the key of the app's session middleware.
        folder: Where the data files lie, for a manifest given as a mapping.

    Returns:
        The plan: every route and tool with the reason why it is exposed or not.

    Raises:
        ManifestInvalid: the manifest, a data file or the block breaks the rules.
        ExposureRefused: the app cannot be exposed as asked; every reason at once.
    """
    block = instance_from_block(name, instance)
    base = Path(folder) if folder is not None else None
    # Where exposure is off nothing of it may hinder the app, not even a broken manifest.
    chosen = _chosen_manifest(manifest if block.on else None, block, base)
    exposure = Exposure(app, block, chosen, base, secret)
    plan = exposure.plan(settled=False)
    if block.on:
        exposure.install(plan)
    return plan


def plan_exposure(app: FastAPI, *, instance: Instance, manifest: Manifest) -> ExposurePlan:
    """The plan that the app would get as it stands now, without touching it; refusals are in the plan.

    Raises:
        ManifestInvalid: the instance's changes break the manifest language.
    """
    return Exposure(app, instance, manifest, None, None).plan(settled=True)


class Exposure:
    """One app with one manifest and one instance, from the call of `expose` to the settled app."""

    def __init__(
        self,
        app: FastAPI,
        instance: Instance,
        manifest: Manifest,
        folder: Path | None,
        secret: str | Sequence[str] | None,
    ) -> None:
        self._app = app
        self._instance = instance
        self._manifest = manifest.under_layers(instance.layers) if instance.on else manifest
        resolve = partial(source_data, app=app)
        self._specs = gather_specs(self._manifest, folder, resolve) if instance.on else SpecSet()
        self._secret = secret
        self._store = SessionStore()
        self._protocol: Protocol | None = None
        self._known: frozenset[str] = frozenset()

    def plan(self, *, settled: bool) -> ExposurePlan:
        """The plan for the app as it stands now."""
        return build_plan(
            PlanInputs(
                server_name=self._instance.name,
                on=self._instance.on,
                block=self._instance.block,
                kept_back=kept_back(self._app, self._instance.headers),
                manifest=self._manifest,
                routes=harvest_routes(self._app),
                middleware=installed_middleware(self._app, (ProtocolLayer,)),
                specs=self._specs,
                settled=settled,
            )
        )

    def install(self, plan: ExposurePlan) -> None:
        """Hook the layers into the app.

        Raises:
            ExposureRefused: the plan has errors, the app has started already, or no secret signs the tokens.
        """
        found = [*plan.errors, *self._start_findings(plan)]
        if found:
            raise ExposureRefused(found)
        build: Callable[[], ASGIApp] = self._app.build_middleware_stack
        self._app.user_middleware.append(Middleware(ProtocolLayer, protocol=self._settled_protocol))
        self._app.build_middleware_stack = lambda: self._build(build)  # type: ignore[method-assign]

    def _settled_protocol(self) -> Protocol:
        assert self._protocol is not None, "requests come after the stack is built"
        return self._protocol

    def _start_findings(self, plan: ExposurePlan) -> list[Diagnostic]:
        found = []
        if self._app.middleware_stack is not None:
            message = "the app has already started: its middleware stack is built"
            found.append(Diagnostic(code="GMM607", message=message, hint="call expose() before the first request"))
        if has_middleware(self._app, ProtocolLayer):
            message = "the app is exposed already"
            found.append(Diagnostic(code="GMM607", message=message, hint="call expose() once"))
        secrets = self._secrets()
        if plan.uses_tokens and not (secrets and all(secrets)):
            message = "an empty secret signs nothing" if secrets else "no secret signs the session tokens"
            hint = "set `mcp_secret` in the instance's block, or give the app a SessionMiddleware"
            found.append(Diagnostic(code="GMM706", message=message, hint=hint))
        return found

    def _secrets(self) -> tuple[str, ...]:
        if self._secret is not None:
            return (self._secret,) if isinstance(self._secret, str) else tuple(self._secret)
        if self._instance.secrets:
            return tuple(secret.get_secret_value() for secret in self._instance.secrets)
        own = session_secret(self._app)
        return (own,) if own else ()

    def _build(self, build: Callable[[], ASGIApp]) -> ASGIApp:
        """The app's stack with the endpoint in front; the settled app is judged once more."""
        place_inside_sessions(self._app, ProtocolLayer)
        stack = build()
        if not isinstance(stack, ServerErrorMiddleware):
            kind = type(stack).__name__
            message = f"the app's outermost layer is {kind}, not Starlette's ServerErrorMiddleware"
            refusal = ExposureRefused([Diagnostic(code="GMM607", message=message, hint="leave exposure off")])
            return FrontLayer(stack, refusal)
        plan = self.plan(settled=True)
        if plan.errors:
            stack.app = FrontLayer(stack.app, ExposureRefused(plan.errors))
            return stack
        for warning in plan.diagnostics:
            log.warning("%s", warning)
        endpoint = self._open(plan)
        stack.app = FrontLayer(stack.app, endpoint)
        count = len(plan.tools)
        log.info("%s: %d %s at /mcp", plan.server_name, count, "tool" if count == 1 else "tools")
        return stack

    def _open(self, plan: ExposurePlan) -> Endpoint:
        language, store = plan.language, self._store
        signer = TokenSigner(self._secrets()) if plan.uses_tokens else None
        # A token names a session whatever middleware makes it over HTTP, one that calls leave out included.
        with_sessions = plan.uses_tokens or any(entry.is_session for entry in installed_middleware(self._app))
        cookie, routes = session_cookie(self._app), harvest_routes(self._app)
        dispatcher = Dispatcher(
            self._app,
            store,
            with_sessions=with_sessions,
            limits=language.limits,
            headers=self._instance.headers,
            routes=routes,
            cookie=SessionCookie(*cookie) if cookie else None,
        )
        self._known = frozenset(route.label for route in routes)
        endpoint = Endpoint(
            plan,
            ToolDoor(plan, dispatcher, store, signer),
            self._identity(plan),
            self._protection(plan),
            self._warn_of_late_routes,
        )
        seeder = verifier = None
        if signer is not None:
            rules = AllowRules(language.sessions, plan.tools, self._manifest.places)
            seeder = Seeder(plan.server_name, rules, signer, store)
            if language.names.normalize:
                verifier = Verifier(plan.aliases, language.names.restore)
        self._protocol = Protocol(endpoint, store, seeder, verifier)
        return endpoint

    def _warn_of_late_routes(self) -> None:
        """Routes that the app's startup added are no tools: the plan was made before."""
        late = [route.label for route in harvest_routes(self._app) if route.label not in self._known]
        if late:
            log.warning("added while the app started, so never tools: %s; add them before", ", ".join(late))

    def _identity(self, plan: ExposurePlan) -> ServerIdentity:
        info = plan.language.server
        return ServerIdentity(plan.server_name, __version__, info.title, info.instructions)

    def _protection(self, plan: ExposurePlan) -> HostProtection:
        if self._instance.allowed_hosts:
            return HostProtection(self._instance.allowed_hosts)
        return HostProtection(None if plan.uses_tokens else _LOOPBACK)


def _chosen_manifest(
    manifest: str | Path | Mapping[str, Any] | Manifest | None, block: Instance, folder: Path | None
) -> Manifest:
    if isinstance(manifest, Manifest):
        return manifest
    if isinstance(manifest, (str, Path)):
        return load_manifest(manifest)
    if manifest is None and block.on and block.manifest is not None:
        return load_manifest((folder or Path()) / block.manifest)
    return manifest_from_mapping({"version": 1} if manifest is None else manifest, folder)

"""`gym-mcp`: the commands, their help, and what every exit code means.

A command imports what it needs when it runs: `validate` must start fast, and without FastAPI or the MCP SDK.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gym_mcp_manifest.errors import ExposureRefused, ManifestError, ManifestInvalid
from gym_mcp_manifest.version import __version__

__all__ = ["app", "main"]

#: 0 no errors, 1 errors, 2 usage, 3 our own fault, 130 interrupted.
_FINDINGS, _USAGE, _INTERNAL, _INTERRUPTED = 1, 2, 3, 130
#: As of a program that the end of its pipe ends: with `pipefail` a build learns that not all was said.
_UNREAD = 141

app = typer.Typer(
    name="gym-mcp",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Expose a FastAPI server's routes as MCP tools, by an `mcp.yaml` beside its code.\n\n"
        "Get a first file with **init**, check it with **validate**, see every decision with **plan**, run the "
        "server with **serve**, try a tool as an agent would with **call**, and have **parity** show that tools "
        "answer as their routes do.\n\n"
        "TARGET is a server's folder (its `app.py`), `path/app.py[:attr]` or `module:attr`; attr is a FastAPI "
        "app or a function that makes one.\n\n"
        "Exit codes: 0 no errors, 1 errors, 2 wrong usage, 3 a fault of this program, 130 interrupted."
    ),
    epilog="Set GYM_MCP_DEBUG=1 to see the traceback of a fault.",
)

#: What a command has made of its words: the work, done outside of the parser, and its exit code.
Job = Callable[[], int]

# Typer may carry a click of its own; this is the usage error of the one that it uses.
_UsageError: Any = typer.BadParameter.__base__

#: How `validate` prints its findings.
Format = Literal["text", "json", "github", "sarif"]
Target = Annotated[str, typer.Argument(help="A server's folder, `path/app.py[:attr]` or `module:attr`.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="Changes in Hydra's grammar, by full path: `a.b=v`, `+a.b=v`, `++a.b=v`, `~a.b`."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The instance's configuration. Default: `config.yaml` beside the app."),
]
Server = Annotated[
    str | None, typer.Option("--server", "-s", help="Which instance, where the configuration has several.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        print(f"gym-mcp {__version__}")
        raise typer.Exit


@app.command()
def validate(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Manifests, or folders that hold an mcp.yaml; `-` reads one from standard input."),
    ] = None,
    output: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How findings are printed. Default: text; in GitHub Actions github, its annotations.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            exists=True,
            file_okay=False,
            help="The folder of the data files. Default: the manifest's own.",
        ),
    ] = None,
    recursive: Annotated[
        bool,
        typer.Option(
            "--recursive",
            "-r",
            help="Check every mcp.yaml in the folders and below them; hidden folders, node_modules and virtual "
            "environments are passed over.",
        ),
    ] = False,
) -> Job:
    """Check manifests and their data files; reads files only and imports no app.

    Without FILES it checks `mcp.yaml` in the current folder. Every finding is shown at once, with its place,
    its code and what would mend it.

    Examples: `gym-mcp validate manifests/office`, `gym-mcp validate manifests/*/mcp.yaml --strict`,
    `cat manifests/office/mcp.yaml | gym-mcp validate -`,
    `gym-mcp validate -r manifests --format sarif > findings.sarif`
    """
    return partial(_validate, files or [], output, strict, data, recursive)


def _validate(files: list[str], output: Format | None, strict: bool, data: Path | None, recursive: bool) -> int:
    # The run ends before collecting garbage could pay, even at its end, and no plugin of pydantic has a say in a
    # manifest: all this is a sixth of the time that it takes to check a small one.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.disable()
    try:
        from gym_mcp_manifest.cli.validate import run_validate

        return run_validate(files, output, strict=strict, data=data, recursive=recursive)
    finally:
        gc.freeze()
        gc.enable()


@app.command()
def plan(
    target: Target,
    overrides: Overrides = None,
    config: Config = None,
    server: Server = None,
    as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    lock: Annotated[
        Path | None,
        typer.Option("--lock", metavar="FILE", help="Write the surface (what agents see) to FILE instead."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Compare the surface with FILE; exit 1 with a diff."),
    ] = None,
) -> Job:
    """Show the merged result: what is exposed, what is not, and what decided.

    A lock file holds what agents see: names, descriptions, schemas, hashes. Commit it, and let your build
    check it: a changed handler then shows as a diff before a rollout meets it.

    Examples: `gym-mcp plan manifests/office`, `gym-mcp plan manifests/office
    office.resources_servers.office.expose_tools_over_mcp=false`,
    `gym-mcp plan manifests/weather --lock mcp.lock.json`,
    `gym-mcp plan manifests/weather --lock mcp.lock.json && gym-mcp plan manifests/weather --check mcp.lock.json`
    """
    from gym_mcp_manifest.cli.plan import PlanTarget, run_check, run_lock, run_plan

    if lock is not None and check is not None:
        raise typer.BadParameter("--lock writes the file and --check compares with it: give one of them")
    chosen = PlanTarget(target, config, server, overrides or ())
    if lock is not None:
        return partial(run_lock, chosen, lock, as_json=as_json, strict=strict)
    if check is not None:
        return partial(run_check, chosen, check, as_json=as_json, strict=strict)
    return partial(run_plan, chosen, as_json=as_json, strict=strict)


@app.command()
def explain(
    subject: Annotated[
        str, typer.Argument(metavar="CODE|KEY|TARGET", help="A code, a key of the language, or a TARGET.")
    ],
    what: Annotated[
        str | None,
        typer.Argument(help="Of the TARGET: a route (`POST /path`), a tool, or a key of its manifest."),
    ] = None,
    overrides: Overrides = None,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="FILE", help="Show what a session seeded with this JSON sees; `-`: stdin."),
    ] = None,
    config: Config = None,
    server: Server = None,
    as_json: AsJson = False,
) -> Job:
    """Say what a code or a key means, or why a route, a tool or a value of a TARGET is as it is.

    Examples: `gym-mcp explain GMM204`, `gym-mcp explain sessions.allow.from`,
    `gym-mcp explain manifests/office email_send_email`, `gym-mcp explain manifests/office 'POST /verify'`,
    `gym-mcp explain manifests/weather tools.get_weather.description`,
    `gym-mcp explain manifests/office --seed '{"verifier_metadata": {"allowed_tools": ["email_send_email"]}}'`
    """
    if what is not None and ("=" in what or what.startswith("~")):
        # An override in the place of WHAT; its value may be secret, so it is never looked up nor shown.
        overrides = [what, *(overrides or ())]
        what = None
    if what is None and seed is None:
        from gym_mcp_manifest.cli.explain import FORMS, run_explain, says_its_target

        if overrides or says_its_target(subject):
            raise typer.BadParameter(f"what about {subject}? {FORMS}")
        return partial(run_explain, subject, as_json=as_json)
    from gym_mcp_manifest.cli.explain_target import run_explain_target, seed_body
    from gym_mcp_manifest.cli.plan import PlanTarget

    bodies = () if seed is None else (seed_body(seed),)
    chosen = PlanTarget(subject, config, server, overrides or ())
    return partial(run_explain_target, chosen, what, bodies, as_json=as_json)


@app.command()
def init(
    target: Target,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write; `-` prints. Default: the server's folder."
        ),
    ] = None,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print it instead, as `-o -` does.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a manifest that is there.")] = False,
) -> Job:
    """Write a commented mcp.yaml from the live app: what the defaults expose, written out.

    It settles what would stop the boot where a manifest can: routes that cannot be tools are excluded with the
    reason, illegal names are replaced, specs of a dispatcher are looked for in the data files.

    Examples: `gym-mcp init manifests/weather --stdout`, `gym-mcp init manifests/office -o my.yaml`
    """
    from gym_mcp_manifest.cli.init import run_init

    if stdout and output not in (None, "-"):
        raise typer.BadParameter("--stdout prints and --output writes: give one of them")
    return partial(run_init, target, "-" if stdout else output, force=force)


@app.command()
def serve(
    target: Target,
    overrides: Overrides = None,
    config: Config = None,
    server: Server = None,
    expose: Annotated[
        bool, typer.Option("--expose", help="Turn exposure on, whatever the configuration says.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes. Session contents live in one process each.")] = 1,
    log_level: Annotated[
        Literal["critical", "error", "warning", "info", "debug"], typer.Option(help="How much is logged.")
    ] = "info",
) -> Job:
    """Run the server with its tools at `/mcp`; Ctrl-C ends it.

    Examples: `gym-mcp serve manifests/weather`, `gym-mcp serve manifests/office --expose --port 0`
    """
    from gym_mcp_manifest.cli.serve import ServeOptions, run_serve

    options = ServeOptions(
        target=target,
        config=str(config) if config else None,
        server=server,
        overrides=tuple(overrides or ()),
        expose=expose,
    )
    return partial(run_serve, options, host, port, workers, log_level)


@app.command()
def call(
    target: Annotated[
        str, typer.Argument(help="A TARGET, which is then run here, or the URL of a running server.")
    ],
    tool: Annotated[str | None, typer.Argument(help="The tool to call; without it the tools are listed.")] = None,
    arguments: Annotated[
        str, typer.Argument(help="The arguments as a JSON object; `-` reads them from standard input.")
    ] = "{}",
    overrides: Overrides = None,
    seed: Annotated[str, typer.Option("--seed", help="The seed body: JSON, or `@FILE` that holds it.")] = "{}",
    config: Config = None,
    server: Server = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            help="A header of the seed and the call, `Name: value`; may be repeated. A tool's route gets it where "
            "`mcp_headers.forward` names it.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> Job:
    """Seed a session and call a tool as an agent would, with a real MCP client.

    Exit code 1 tells that the tool answered with an error.

    Examples: `gym-mcp call manifests/weather get_weather '{"city": "Paris"}'`,
    `gym-mcp call manifests/office --seed '{"verifier_metadata": {"allowed_tools": ["email_send_email"]}}'`,
    and, while `serve` runs there, `gym-mcp call http://127.0.0.1:8000`
    """
    from gym_mcp_manifest.cli.call import run_call
    from gym_mcp_manifest.cli.headers import header_of

    headers = [header_of(line) for line in header or ()]
    return partial(
        run_call, target, tool, arguments, seed, config, server, overrides or [], headers, as_json=as_json
    )


@app.command()
def parity(
    target: Target,
    overrides: Overrides = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            "--cases",
            metavar="FILE",
            help='Recorded cases, one JSON object a line: `{"tool": NAME, "arguments": {...}}`, maybe `"seed"`.',
        ),
    ] = None,
    examples: Annotated[
        int, typer.Option(min=0, help="Inputs made from each tool's schema, valid and invalid.")
    ] = 20,
    random_seed: Annotated[int, typer.Option(help="Other seeds make other inputs; one seed, the same.")] = 0,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="GLOB", help="Only these tools; may be repeated.")
    ] = None,
    seed: Annotated[
        str, typer.Option("--seed", metavar="FILE", help="Every session's seed body: a file, JSON or `-`.")
    ] = "{}",
    after: Annotated[
        str | None,
        typer.Option(
            "--after",
            metavar="ROUTE",
            help="Read each session after its call and compare: `/verify`, `GET /state`.",
        ),
    ] = None,
    after_body: Annotated[str, typer.Option("--after-body", metavar="JSON", help="The body of that read.")] = "{}",
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="KEY",
            help="A key that may differ: at any depth (`id`) or by its path (`items[].id`); may be repeated.",
        ),
    ] = None,
    destructive: Annotated[
        bool, typer.Option("--destructive", help="Call tools too whose annotations say that they destroy.")
    ] = False,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="LINE",
            help="A header of every call through both doors, `Name: value`; may be repeated.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that an answer may take.")] = 60,
    config: Config = None,
    server: Server = None,
    as_json: AsJson = False,
) -> Job:
    """Send the same inputs through plain HTTP and through MCP, and show where the answers differ.

    The target runs here. Each case gets two sessions seeded alike, one for each door; status, JSON, text and, with
    --after, what the session has become must agree. The first difference of each tool is shown, with the smallest
    arguments that make it. What differs between two plain calls as well is told, and is no difference.

    **The calls are real.** Tools that are destructive by their annotations are skipped; what others do is done.
    Exit code 1 tells of a difference, or that nothing was compared.

    Examples: `gym-mcp parity manifests/weather`,
    `gym-mcp parity manifests/office --tool 'email_*' --examples 5 --random-seed 7`,
    `gym-mcp parity manifests/weather --after /verify --after-body '{}'`
    """
    from gym_mcp_manifest.cli.explain_target import seed_body
    from gym_mcp_manifest.cli.headers import header_of
    from gym_mcp_manifest.cli.parity import ParityOptions, read_of, run_parity
    from gym_mcp_manifest.cli.plan import PlanTarget

    options = ParityOptions(
        seed=seed_body(seed),
        cases=cases,
        examples=examples,
        random_seed=random_seed,
        tools=tool or (),
        after=read_of(after, after_body),
        ignore=ignore or (),
        destructive=destructive,
        headers=[header_of(line) for line in header or ()],
        seconds=timeout,
    )
    return partial(run_parity, PlanTarget(target, config, server, overrides or ()), options, as_json=as_json)


@app.command()
def schema(
    check: Annotated[
        Path | None,
        typer.Option("--check", help="Compare with this file instead of printing; exit 1 on a difference."),
    ] = None,
) -> Job:
    """Print the JSON Schema of the manifest language, for editors and pre-commit.

    Examples: `gym-mcp schema > mcp.schema.json`, `gym-mcp schema --check schemas/mcp.schema.json`
    """
    from gym_mcp_manifest.cli.schema import run_schema

    return partial(run_schema, check)


def main() -> None:
    """Run the command line; every expected failure is a message and an exit code."""
    _open_streams()
    try:
        code = _run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has left; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _UNREAD
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _complain(f"the output cannot be written: {error.strerror}", _FINDINGS)
    sys.exit(code)


def _open_streams() -> None:
    """Streams that can be written to whatever they are: closed ones swallow, narrow ones are given escapes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _run() -> int:
    try:
        job = app(standalone_mode=False)
        return job() if callable(job) else int(job or 0)
    except (ManifestInvalid, ExposureRefused) as error:
        from gym_mcp_manifest.render.console import open_console
        from gym_mcp_manifest.render.findings import print_findings

        print_findings(error.diagnostics, open_console(stderr=True))
        return _FINDINGS
    except ManifestError as error:
        return _complain(str(error), _FINDINGS)
    except _UsageError as error:
        # How Typer's own checker begins its reasons is no help to anybody.
        error.message = error.message.replace("Value error, ", "")
        error.show()
        return _USAGE
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return _fault(error)
        raise
    except Exception as error:
        return _fault(error)


def _fault(error: Exception) -> int:
    if os.environ.get("GYM_MCP_DEBUG"):
        raise error
    advice = "this is a fault of gym-mcp; set GYM_MCP_DEBUG=1 to see where, and please report it"
    return _complain(f"{type(error).__name__}: {error}\n{advice}", _INTERNAL)


def _complain(message: str, code: int) -> int:
    print(f"gym-mcp: {message}", file=sys.stderr)
    return code

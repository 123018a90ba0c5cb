"""Who visits the website, and for how long."""

from office_errors import InvalidArguments, RecordNotFound
from office_records import Chart, Day, Metric, Plot, TrafficSource, Visit
from office_tables import OfficeTables
from pydantic import JsonValue

from .matching import is_between
from .toolkit import Toolkit

analytics = Toolkit("analytics")


@analytics.tool
def get_visitor(tables: OfficeTables, visitor: str) -> JsonValue:
    """Every visit of one visitor, in order."""
    visits: list[JsonValue] = [visit.model_dump() for visit in tables.visits if visit.visitor == visitor]
    if not visits:
        raise RecordNotFound(f"There is no visitor {visitor!r}.")
    return {"visitor": visitor, "visits": visits}


@analytics.tool
def total_visits_count(
    tables: OfficeTables, start_day: Day | None = None, end_day: Day | None = None
) -> JsonValue:
    """How often the website was visited."""
    return len(_visits(tables, start_day, end_day))


@analytics.tool
def engaged_users_count(
    tables: OfficeTables, start_day: Day | None = None, end_day: Day | None = None
) -> JsonValue:
    """How many different visitors were engaged at least once."""
    return len({visit.visitor for visit in _visits(tables, start_day, end_day) if visit.engaged})


@analytics.tool
def traffic_source_count(
    tables: OfficeTables, source: TrafficSource, start_day: Day | None = None, end_day: Day | None = None
) -> JsonValue:
    """How many visits came from one source."""
    return sum(visit.source == source for visit in _visits(tables, start_day, end_day))


@analytics.tool
def average_session_duration(
    tables: OfficeTables, start_day: Day | None = None, end_day: Day | None = None
) -> JsonValue:
    """How long a visit lasted on average, in seconds with one decimal. Nothing for days without visits."""
    visits = _visits(tables, start_day, end_day)
    if not visits:
        return None
    return round(sum(visit.duration_seconds for visit in visits) / len(visits), 1)


@analytics.tool
def create_plot(tables: OfficeTables, metric: Metric, chart: Chart, start_day: Day, end_day: Day) -> JsonValue:
    """A chart of one metric, stored for the team."""
    _require_order(start_day, end_day)
    plot = Plot(id=tables.plots.next_id(), metric=metric, chart=chart, start_day=start_day, end_day=end_day)
    return tables.plots.put(plot).model_dump()


def _visits(tables: OfficeTables, start_day: str | None, end_day: str | None) -> list[Visit]:
    _require_order(start_day, end_day)
    return [visit for visit in tables.visits if is_between(visit.day, start_day, end_day)]


def _require_order(start_day: str | None, end_day: str | None) -> None:
    # A range that runs backwards holds no visits; to answer 0 would be a lie that looks like a fact.
    if start_day is not None and end_day is not None and start_day > end_day:
        raise InvalidArguments(f"start_day {start_day} lies after end_day {end_day}.")

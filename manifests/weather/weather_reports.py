"""The weather itself: a fixed table, so that one question always has one answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Report:
    """What the sky over one city looks like, for ever."""

    city: str
    sky: str
    fahrenheit: int

    @property
    def sentence(self) -> str:
        """The report as the tool tells it."""
        return f"The weather in {self.city} is {self.sky} and {self.fahrenheit} F."

    def is_repeated_in(self, text: str) -> bool:
        """Whether ``text`` contains the sentence. Letter case and line breaks do not count."""
        return _plain(self.sentence) in _plain(text)


def find_report(city: str) -> Report | None:
    """The report for ``city`` in any letter case, or None."""
    return _REPORTS.get(_plain(city))


def known_cities() -> list[str]:
    """Every city that has a report, in the table's order."""
    return [report.city for report in _REPORTS.values()]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


_REPORTS = {
    _plain(report.city): report
    for report in (
        Report("Amsterdam", "drizzly", 57),
        Report("Athens", "hazy", 84),
        Report("Berlin", "overcast", 61),
        Report("Bogota", "showery", 64),
        Report("Buenos Aires", "breezy", 66),
        Report("Cairo", "dusty", 93),
        Report("Cape Town", "windy", 63),
        Report("Chicago", "gusty", 58),
        Report("Copenhagen", "bright", 60),
        Report("Dakar", "humid", 82),
        Report("Dublin", "rainy", 54),
        Report("Hanoi", "thundery", 88),
        Report("Helsinki", "frosty", 30),
        Report("Lima", "misty", 65),
        Report("Lisbon", "clear", 75),
        Report("London", "foggy", 55),
        Report("Madrid", "hot", 91),
        Report("Melbourne", "changeable", 62),
        Report("Montreal", "snowy", 27),
        Report("Nairobi", "mild", 71),
        Report("New York", "partly cloudy", 68),
        Report("Oslo", "crisp", 41),
        Report("Paris", "sunny", 72),
        Report("Reykjavik", "stormy", 38),
        Report("Rome", "warm", 79),
        Report("San Francisco", "cool", 59),
        Report("Sao Paulo", "muggy", 77),
        Report("Seoul", "dry", 70),
        Report("Sydney", "fair", 69),
        Report("Tokyo", "cloudy", 67),
    )
}

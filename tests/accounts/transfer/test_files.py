"""CSV and JSON Lines."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idsync.accounts.transfer import files
from idsync.accounts.transfer.files import FORMATS, Writer, read_lines
from idsync.accounts.transfer.person import Person, read_person

TEXT = st.text("abÄёß中٣=+-@'\\\"[]{},;:|%＝", min_size=1, max_size=8)
DANGEROUS = st.builds(
    str.__add__, st.sampled_from(["=", "+", "-", "@", "'", "'=", "''+", "＝"]), TEXT
)
PEOPLE = st.builds(
    Person,
    name=TEXT | DANGEROUS,
    id=st.none() | TEXT,
    email=st.none() | TEXT | DANGEROUS,
    email_verified=st.booleans(),
    phone=st.none() | st.just("+4930123456"),
    tags=st.lists(TEXT | DANGEROUS | st.sampled_from(["a,b", "[", '["', "x y"]), max_size=4).map(
        tuple
    ),
    disabled=st.booleans(),
    password=st.none() | TEXT,
)


def read(text: str, file_format: str) -> list:
    return list(read_lines(io.StringIO(text, newline=""), file_format))


@pytest.mark.parametrize("file_format", FORMATS)
@given(people=st.lists(PEOPLE, max_size=5))
def test_what_is_written_is_read_as_it_was(file_format: str, people: list[Person]) -> None:
    """Whatever the names and tags look like."""
    file = io.StringIO(newline="")
    writer = Writer(file, file_format)
    for person in people:
        writer.write(person.values())
    values = [line.values for line in read(file.getvalue(), file_format)]
    assert values == [person.values() for person in people]


@given(person=PEOPLE)
def test_no_cell_is_a_formula(person: Person) -> None:
    """A spreadsheet runs what begins with one of these signs, a cell of a name not excepted."""
    file = io.StringIO(newline="")
    Writer(file, files.CSV).write(person.values())
    _, cells = csv.reader(io.StringIO(file.getvalue().removeprefix("\ufeff"), newline=""))
    parts = [part for cell in cells for part in re.split(r"[;\t\r\n]", cell)]
    assert not [part for part in parts if part[:1] in tuple("=+-@＝＋－＠")]


@pytest.mark.parametrize("sign", [";", "\t", "\n", "\r"])
def test_no_part_of_a_cell_is_a_formula(sign: str) -> None:
    """Where cells are parted by semicolons or tabs, what follows one begins a cell."""
    name = f"a{sign}=1{sign}'+2{sign}b"
    cell = files.safe_cell(name)
    assert cell == f"a{sign}'=1{sign}''+2{sign}b"
    file = io.StringIO(newline="")
    Writer(file, files.CSV).write({**Person(name="x").values(), "name": name})
    assert read(file.getvalue(), files.CSV)[0].values["name"] == name


def test_an_apostrophe_of_a_name_stays() -> None:
    """Only one in front of a formula's sign was put there by us."""
    text = "name,email\n't Hooft,a@example.org\n'=1+1,b@example.org\n+x,c@example.org\n"
    names = [line.values["name"] for line in read(text, files.CSV)]
    assert names == ["'t Hooft", "=1+1", "+x"]


def test_tags_of_a_cell_are_separated_by_commas() -> None:
    """Or a list in JSON, for tags that have one."""
    text = 'name,tags\nA,"wiki, mail"\nB,"[""a,b""]"\nC,\n'
    assert [line.values["tags"] for line in read(text, files.CSV)] == [
        ["wiki", "mail"],
        ["a,b"],
        [],
    ]


@pytest.mark.parametrize("text", ["\ufeffname\nA\n", "name\r\nA\r\n", "name\nA", "\nname\nA"[1:]])
def test_files_of_other_programs_are_read(text: str) -> None:
    """With a byte order mark, with any end of line, without the last one."""
    assert [line.values for line in read(text, files.CSV)] == [{"name": "A"}]


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        ("", 1, "first line"),
        ("email\na@b.example\n", 1, "first line"),
        ("name,salary\nA,1\n", 1, "salary"),
        ("name,name\nA,B\n", 1, "twice"),
        ("name,id\nA\n", 2, "1 cells"),
        ("name,disabled\nA,\nB,perhaps\n", 3, "disabled"),
        ('name,tags\nA,"[1"\n', 2, "tags"),
        (f'name,tags\nA,"{"[" * 50_000}"\n', 2, "tags"),
        ("name\nA\n" + '"\n' + "x\n" * 60_000 + '"\n', 3, "cannot be read"),
        ('name\n"A\nB"\n"C', 4, "cannot be read"),
        ('name\nA\n"B" x\n', 3, "cannot be read"),
        ("name\nA\n" + "x" * 100_001, 3, "cannot be read"),
    ],
)
def test_a_wrong_line_of_csv_is_named(text: str, number: int, said: str) -> None:
    """By its number in the file, also after a cell of several lines."""
    problems = [line for line in read(text, files.CSV) if line.problem is not None]
    assert [line.number for line in problems] == [number]
    assert said in str(problems[0].problem)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"name": "A", "name": "B"}', "twice"),
        ("[" * 50_000, "not JSON"),
        ('{"name": "' + "x" * 100_001, "cannot be read"),
    ],
)
def test_a_wrong_line_of_json_is_named(line: str, said: str) -> None:
    """Empty lines count and say nothing."""
    found = read(f'{{"name": "A"}}\n\n{line}', files.JSON_LINES)
    assert found[0].values == {"name": "A"}
    assert found[1].number == 3
    assert said in str(found[1].problem)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"name": 1, "id": "a"}, "name"),
        ({"name": "", "id": "a"}, "name"),
        ({"name": None, "id": "a"}, "name"),
        ({"name": "A"}, "id"),
        ({"name": "A", "id": "a/b"}, "id"),
        ({"name": "A", "email": "nonsense"}, "email"),
        ({"name": "A", "id": "a", "phone": "030"}, "phone"),
        ({"name": "A", "id": "a", "tags": "wiki"}, "tags"),
        ({"name": "A", "id": "a", "tags": [1]}, "tags"),
        ({"name": "A", "id": "a", "tags": [" x"]}, "tags"),
        ({"name": "A", "id": "a", "disabled": "yes"}, "disabled"),
        ({"name": "A", "id": "a", "administrator": True}, "administrator"),
        ({"name": "\udcff", "id": "a"}, "name"),
    ],
)
def test_a_person_who_cannot_be_is_refused(values: dict, field: str) -> None:
    """By the rules that hold everywhere; an administrator is made by hand only."""
    with pytest.raises(files.InvalidValue) as refused:
        read_person(values, lambda text: text)
    assert refused.value.field == field

"""A person with a browser, in Adminer: sees the tables, adds a row, edits it, deletes it."""

import html
import http.cookiejar
import os
import re
import urllib.parse
import urllib.request

base = f"http://127.0.0.1:{os.environ['ADMINER_PORT']}/"
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
where = {"pgsql": f"{os.environ['PGHOST']}:{os.environ['PGPORT']}", "username": os.environ["PGUSER"], "db": os.environ["PGDATABASE"], "ns": "public"}


def page(query=None, form=None):
    address = base + "?" + urllib.parse.urlencode({**where, **(query or {})})
    with browser.open(address, urllib.parse.urlencode(form).encode() if form else None) as answer:
        return answer.read().decode()


def form(text):
    """What a browser would send of the form on the page."""
    values = {}
    for tag in re.findall(r"<input [^>]*>", text):
        field = dict(re.findall(r"""(\w+)=["']([^"']*)["']""", tag))
        if "name" in field and field.get("type") not in ("submit", "checkbox"):
            values[html.unescape(field["name"])] = html.unescape(field.get("value", ""))
    for name, options in re.findall(r"""<select name=["']([^"']*)["'][^>]*>(.*?)</select>""", text, re.S):
        chosen = re.search(r"<option[^>]*selected[^>]*>([^<]*)", options)
        values[html.unescape(name)] = html.unescape(chosen[1]) if chosen else ""
    for name, value in re.findall(r"""<textarea name=["']([^"']*)["'][^>]*>(.*?)</textarea>""", text, re.S):
        values[html.unescape(name)] = html.unescape(value)
    return {name: value for name, value in values.items() if re.match(r"fields|function|save|token", name)}


browser.open(base).read()
login = {"driver": "pgsql", "server": where["pgsql"], "username": where["username"], "password": os.environ["PGPASSWORD"], "db": where["db"]}
browser.open(base, urllib.parse.urlencode({f"auth[{name}]": value for name, value in login.items()}).encode()).read()


def save(query, **fields):
    """Changes fields of a form, as a browser does: with the name of a function in front, or without."""
    values = form(page(query))
    for name, value in fields.items():
        values.update({f"fields[{name}]": value, f"function[{name}]": ""})
    return page(query, values)


seen = page()
assert set(re.findall(r"[?&;]table=(\w+)", seen)) == {"orders", "ticket", "reply", "invoice", "payment"}, "your tables only"
for table, child in ("orders", None), ("ticket", "reply"), ("invoice", "payment"):
    values = form(page({"edit": table}))
    assert (values["function[id]"], values["fields[id]"]) == ("SQL", "flake_next()"), values
    assert "Item has been inserted" in save({"edit": table}, item="tea")
    links = re.findall(r"edit=\w+&(?:amp;)?where%5Bid%5D=(\w+)", page({"select": table}))
    assert len(set(links)) == 1 and re.fullmatch(r"[0-9a-v]{13}" if table == "ticket" else r"\d{18,19}", links[0]), links
    row = {"edit": table, "where[id]": links[0]}
    assert form(page(row))["fields[item]"] == "tea"
    assert "Item has been updated" in save(row, item="ink")
    assert "ink" in page({"select": table, "where[0][col]": "id", "where[0][op]": "=", "where[0][val]": links[0]})
    if child:
        assert "Item has been inserted" in save({"edit": child}, **{f"{table}_id": links[0]})
        assert links[0] in page({"select": child})
    structure = re.sub(r"<[^>]*>", " ", page({"table": table}))
    assert "flake_next()" in structure, structure

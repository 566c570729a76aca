"""JSON and the dataclasses of types.py."""

from __future__ import annotations

import dataclasses
import functools
import types as python_types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from . import types

_discriminators = {
    "text": types.TextBlock, "thinking": types.ThinkingBlock, "tool_call": types.ToolCallBlock, "tool_result": types.ToolResultBlock,
    "server_tool": types.ServerToolBlock, "image": types.MediaBlock, "document": types.MediaBlock, "audio": types.MediaBlock,
}


@functools.cache
def _fields(cls: type) -> list[tuple[str, str, Any]]:
    """The members of a dataclass: the name in JSON, the name in Python, and the type."""
    hints = get_type_hints(cls, vars(types))
    return [(f.name.rstrip("_"), f.name, hints[f.name]) for f in dataclasses.fields(cls)]


def decode(of: Any, value: Any) -> Any:
    """A value of JSON as the type. Members that the type lacks are left out: a newer daemon may send more. A member that is missing is None."""
    if value is None or of is Any:
        return value
    origin = get_origin(of)
    if origin in (Union, python_types.UnionType):
        options = [o for o in get_args(of) if o is not type(None)]
        if len(options) == 1:
            return decode(options[0], value)
        cls = _discriminators.get(value.get("type")) if isinstance(value, dict) else None
        return value if cls is None else decode(cls, value)
    if origin is list:
        return [decode(get_args(of)[0], v) for v in value]
    if origin is dict:
        return {k: decode(get_args(of)[1], v) for k, v in value.items()}
    if origin is Literal or not dataclasses.is_dataclass(of):
        return value
    return of(**{name: decode(hint, value.get(key)) for key, name, hint in _fields(of)})  # type: ignore[operator]


def encode(value: Any) -> Any:
    """The opposite of decode. Members that are None are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key: encode(getattr(value, name)) for key, name, _ in _fields(type(value)) if getattr(value, name) is not None}
    if isinstance(value, dict):
        return {k: encode(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    return value

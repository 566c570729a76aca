"""Tools that run in this process."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

from . import types

Approve = Callable[[types.ConfirmEvent], Awaitable[str]]
"""Decides about a call: it returns one of the event's actions, such as "allow" or "deny"."""

_SCHEMAS = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class Tools:
    """Functions that models can call.

        tools = Tools()

        @tools.tool("Looks up a word.")
        async def lookup(word: str) -> str: ...
    """

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        self._offers: list[types.NewTool] = []

    def tool(self, description: str, *, name: str | None = None, input_schema: dict[str, Any] | None = None) -> Callable[..., Any]:
        """Offers a function. Without a schema, its parameters and their annotations are the schema."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            tool_name = name or function.__name__
            self._functions[tool_name] = function
            self._offers.append(types.NewTool(name=tool_name, description=description, input_schema=input_schema or _schema(function)))
            return function

        return add

    def offers(self) -> list[types.NewTool]:
        """The tools as session/new takes them."""
        return list(self._offers)

    def has(self, name: str) -> bool:
        return name in self._functions

    async def run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Runs a call, and returns the content and is_error of tool/result. What a function raises is the result for the model."""
        try:
            result = self._functions[name](**arguments)
            if inspect.isawaitable(result):
                result = await result
        except Exception as e:  # noqa: BLE001: the model gets it
            return {"content": [types.TextBlock(type="text", text=f"{type(e).__name__}: {e}")], "is_error": True}
        return {"content": result if isinstance(result, list) else [types.TextBlock(type="text", text=str(result))]}


def _schema(function: Callable[..., Any]) -> dict[str, Any]:
    hints = get_type_hints(function)
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if hints.get(name) not in _SCHEMAS:
            raise TypeError(f"{function.__name__}: annotate {name} with one of str, int, float, bool, list, dict, or give an input_schema")
        properties[name] = {"type": _SCHEMAS[hints[name]]}
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

// Package schema makes values that fit a JSON schema, and explains why a value does not fit.
//
// It reads the part of JSON Schema that tools and structured answers use: type, enum, const, properties, required,
// additionalProperties, items, anyOf, oneOf, allOf, $ref to the schema's own definitions, and the limits of numbers, strings and
// arrays. It ignores all other keywords, so [Check] may accept a value that a full validator refuses. Schemas and values are
// as [strict.Decode] returns them. The functions change none of their arguments.
//
// Inside the package, files depend in one direction: node, example, check.
package schema

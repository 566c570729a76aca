package tool

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The library has no limits of its own. A schema that refers to itself twice takes twice the time for each level of the
// input, and a number such as 1e999999999 is written out in full. Both can come from a model that meant no harm.

var (
	errTooComplex = errors.New("too deep or too large to be held against the schema")
	errNumber     = errors.New("has a number with an exponent beyond 400")
)

// Bounds of a check.
const (
	maxVisits   = 300_000 // of a part of the schema to a part of the input: below a second
	maxDepth    = 1000    // visits inside one another
	maxExponent = 400     // beyond what float64 has
)

// tame looks for numbers that nobody should calculate with.
func tame(value any) error {
	switch v := value.(type) {
	case json.Number:
		if at := strings.IndexAny(string(v), "eE"); at >= 0 {
			if exponent, err := strconv.Atoi(string(v[at+1:])); err != nil || exponent > maxExponent || exponent < -maxExponent {
				return errNumber
			}
		}
	case map[string]any:
		for _, inner := range v {
			if err := tame(inner); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := tame(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// visits counts down what a check would do, and ends when there is nothing left.
type visits struct{ left, depth int }

// affordable reports whether a value can be held against a schema in a bounded time.
func affordable(s *jsonschema.Schema, value any) bool {
	v := visits{left: maxVisits}
	v.visit(s, value)
	return v.left > 0
}

func (v *visits) visit(s *jsonschema.Schema, value any) {
	if s == nil || v.left <= 0 {
		return
	}
	if v.depth == maxDepth {
		v.left = 0
		return
	}
	v.left--
	v.depth++
	defer func() { v.depth-- }()
	for _, inner := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf,
		[]*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}) {
		v.visit(inner, value)
	}
	if s.DynamicRef != nil {
		v.visit(s.DynamicRef.Ref, value)
	}
	for _, inner := range s.DependentSchemas {
		v.visit(inner, value)
	}
	for _, inner := range s.Dependencies {
		v.either(inner, value)
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			v.visit(s.PropertyNames, name)
			v.visit(s.Properties[name], member)
			for _, inner := range s.PatternProperties {
				v.visit(inner, member)
			}
			v.either(s.AdditionalProperties, member)
			v.visit(s.UnevaluatedProperties, member)
		}
	case []any:
		if s.UniqueItems {
			v.left -= len(value) * len(value) / 2 // each with each
		}
		for _, item := range value {
			v.visit(s.Contains, item)
			v.either(s.Items, item)
			v.either(s.AdditionalItems, item)
			for _, inner := range s.PrefixItems {
				v.visit(inner, item)
			}
			v.visit(s.Items2020, item)
			v.visit(s.UnevaluatedItems, item)
		}
	}
}

// either visits what the library keeps in an any: a schema, or a list of them.
func (v *visits) either(inner, value any) {
	switch inner := inner.(type) {
	case *jsonschema.Schema:
		v.visit(inner, value)
	case []*jsonschema.Schema:
		for _, s := range inner {
			v.visit(s, value)
		}
	}
}

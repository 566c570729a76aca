// Package schema reduces the schemas of tools and answers to what a vendor's API accepts. A vendor refuses every request that contains an unsupported
// schema, and tools come from servers that know nothing about vendors.
//
// A reduction is a pure function of the schema and the rules, so each request has the same bytes. A supported schema is sent byte for byte,
// with its members in their order. A reduced schema accepts more than the original, and never less where that can be avoided: the
// agent checks each call against the original before it runs.
//
// Inside the package, files depend in one direction: output, schema, node, reducer, rules, object.
package schema

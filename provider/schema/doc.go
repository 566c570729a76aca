// Package schema reduces the schemas of tools to what a vendor's API takes. One tool whose schema a vendor does not take
// blocks every request that offers it, and tools come from servers that know nothing of vendors.
//
// A reduction is a pure function of the schema and the rules: the same bytes in each request. A schema that fits goes out
// byte for byte as it came, with its members in their order. What is reduced is wider than the schema was, never
// narrower where that can be avoided: the agent checks each call against the original before it runs.
package schema

// Package options decides which options of a call are sent, which are adjusted, which are refused, and why.
//
// [Sources] are all places that may ask for an option. They result in [provider.AskedOptions], and [Resolve] decides these for a model.
// What models take is in rules.json, by wire API, dialect and family, each rule with its source. [Page] shows the decisions for the
// whole catalog.
//
// Guarantees:
//
//   - Resolve is pure: it uses no I/O and no clock. The same options for the same row are the same decision;
//   - every option that is asked for has exactly one outcome, and each outcome except "sent" says why;
//   - what Resolve lets through is what the model takes in this call, with this level of thinking and these tools.
//
// Inside the package, files depend in one direction: page, resolve, servertools, sources, rules.
package options

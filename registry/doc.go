// Package registry knows what models can do with thinking, and decides which level a call gets.
//
// A [Vendor] is an entry of the embedded catalog: the address of its API, its environment variables, and the facts of its models. A
// [Provider] is a vendor as configured, with corrections ([Row]). A [Catalog] combines all providers with what hosts have listed, and is
// searched by name. [Current] is the catalog in effect. If only the name of a model is known, its family supplies the facts
// (families.json).
//
// [Sources] are all places that may name a level. They result in an [Ask], and [Resolve] decides it for a model. [Settings] keep what
// clients set for all sessions: [Agent]s, and the [Defaults] of providers.
//
// Guarantees:
//
//   - a Catalog never changes and is safe for concurrent use; a reload creates a new one. Only the models that a provider's own server
//     has are requested again at each look-up, if the server supports it;
//   - its rows are consistent: the default is one of the levels, levels ascend, every level of a budget has its tokens, and off is a
//     level exactly if there is a form for it;
//   - sources have this precedence: the configuration, a server's current statement, what a host listed before, the built-in rows.
//     A listing adds and corrects, and removes nothing;
//   - a model without a row is not an error: it has Known == false, and nothing is assumed about it;
//   - Resolve is pure: it uses no I/O and no clock. The same ask for the same row is the same decision.
//
// Inside the package, files depend in one direction: current, served, change, catalog, combine, vendor, listed, stock, settings,
// sources, row, modelsdev, bound, check, complete, resolve, family, facts, errors.
package registry

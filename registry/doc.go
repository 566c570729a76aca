// Package registry knows what models can do with thinking, and decides which level a call gets.
//
// A [Vendor] is a row of the embedded catalog: where its API is, which variables of the environment it reads, and
// what its models take. A [Provider] is a vendor as configured, with corrections ([Row]) over the vendor's rows. A
// [Catalog] is all of them together, with what hosts have listed, looked up by name; [Current] is the one in force.
// Where nobody says more of a model than its name, its family speaks (families.json). [Sources] are all who may say a level; what they amount to is an
// [Ask], and [Resolve] settles that on a row. [Settings] keep what clients say for all sessions: [Agent]s, and the
// providers' [Defaults].
//
// Guarantees:
//
//   - a Catalog never changes and is safe for concurrent use: a reload makes a new one; only what a provider's server
//     tells of its own models, where it can be asked, is asked anew at each look-up;
//   - its rows agree with themselves: the default is one of the levels, levels ascend, every level of a budget has its
//     tokens, off is a level exactly where there is a form for it;
//   - what the configuration states comes before what a server tells now, that before what a host listed some time ago,
//     that before the built-in rows; a listing adds and corrects, and takes nothing away;
//   - a model without a row is not an error: it has Known == false, and nothing is assumed about it;
//   - Resolve is pure: no I/O, no clock, and the same ask on the same row is the same decision.
package registry

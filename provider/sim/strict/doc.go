// Package strict reads the JSON of requests as strictly as model APIs do.
//
// [Decode] reads exactly one value and refuses what Go's decoder lets pass. [Object] takes the members of an object one by
// one; the first wrong member is an [Error], and so is a member that nobody took. [AppendCanonical] has one spelling for
// equal values, and [Digest] identifies a sequence of them.
//
// Inside the package, files depend in one direction: canonical, object.
package strict

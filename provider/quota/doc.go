// Package quota reads what vendors say of their limits in the headers of answers: how many requests and tokens are left, and how much of
// a plan is used.
//
// [Read] finds the limits in the headers of one answer of any vendor. A [Meter] keeps the latest limits of one provider.
//
// Guarantees:
//
//   - foreign headers cause no panic and no unbounded memory: names are short words, numbers are finite and not negative, and there are
//     at most 16 limits;
//   - no limit is invented: a header that cannot be read is ignored;
//   - a Meter returns no limit whose reset time has passed, and none of another account.
//
// A Meter is safe for concurrent use.
//
// Inside the package, files depend in one direction: meter, read, limit.
package quota

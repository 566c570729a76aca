// Package approval decides whether a call of a tool runs, waits for a person, or is denied, and what a person sees and can grant.
//
// The decision is a pure function of a [Question]: the policies of the operator and of the session, the tool mode, what people
// have granted, and the [Concern] that the host found in the arguments.
//
// Guarantees:
//
//   - no client makes the operator's policy less strict: what a session says only adds questions and denials;
//   - a grant covers the calls that its text names, and nothing that a shell could make of them ([Simple]);
//   - a person sees every character of what runs: [Reveal] shows the ones that cannot be seen.
//
// Inside the package, files depend in one direction: approval, concern, policy, visible, grant.
package approval

// Package watch sends changes of the list of sessions to the clients that show it.
//
// A [Hub] has the subscriptions of a daemon, by owner. A session publishes a [Change] when something changes that a list shows: the
// whole record, with what the session needs of a person.
//
//	agent ──Publish──► Hub ──► Subscription ──Take──► client
//	                     └──► Subscription ──Take──► client
//
// Daemons that share their sessions publish changes to each other. One takes what all its sessions publish from [Hub.SubscribeAll], and the others
// publish it to their clients with [Hub.Receive].
//
// Guarantees:
//
//   - a subscriber gets the changes of the sessions of one owner and of those that are shared with that owner, and of no other. Whether a session
//     is still shared when the change is taken, the reader checks;
//   - publishing never waits, so no subscriber delays a session or another subscriber. Without a subscriber it costs a look at a map;
//   - what waits for one subscriber is bounded in sessions and in bytes. A later change of a session takes the place of an earlier one.
//     A subscriber that reads too slowly gets [ErrStale], and lists again;
//   - a Change is shared by all subscribers and never changes.
//
// A Hub reads no store, and knows of no session that does not change. It is safe for concurrent use. A [Subscription] is read by one
// goroutine, and every goroutine may close it.
//
// Inside the package, files depend in one direction: hub, subscription, change.
package watch

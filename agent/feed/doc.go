// Package feed sends what happens in a session to the clients that follow it.
//
// A session publishes [Event]s. A [Feed] numbers them and gives each one, as an [Update], to every [Subscription]. A
// subscription is a bounded queue, and a client reads it at its own pace.
//
//	agent ──Publish──► Feed ──► Subscription ──Next──► client
//	                    │   └─► Subscription ──Next──► client
//	                    └─► memory of the latest updates, for clients that come back (Since)
//
// Guarantees:
//
//   - updates have the numbers Base+1, Base+2 and so on, without a gap; a merged update stands for all numbers from FirstSeq
//     to Seq;
//   - a subscriber gets every update in order, or [Stale] when it read too slowly;
//   - publishing never waits, so no subscriber delays the session or another subscriber;
//   - the queue of each subscriber and the memory of a feed are bounded, in updates and in bytes;
//   - an Update is shared by all subscribers and never changes.
//
// A Feed belongs to the goroutine of its session. A Subscription is read by one goroutine, and every goroutine may close it.
//
// Inside the package, files depend in one direction: tool and event are what can be published, update is one published event,
// growth says what may be merged and how much an update weighs, subscription and memory keep updates, and feed uses all of them.
package feed

// Package stored counts the bytes that the sessions of each user take in the store, and compares them with the user's quota.
//
// What a user took before is counted when it is first needed, by reading the user's sessions. From then on each append is added, and what a
// deleted session took is subtracted. A request that stores something reserves its bytes first, so that requests in parallel do not exceed
// the quota together.
//
// In a cluster other nodes store sessions of the same user. Then each node has a block of the quota, and counts again what has changed when the block has
// no room for a request. All nodes together reserve no more than the quota has, whichever of them are asked.
//
// An image or a document counts in each session that has it, although the store keeps it once. What a fork shares counts once.
//
// Inside the package, files depend in one direction: meter, share and size.
package stored

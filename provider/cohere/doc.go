// Package cohere is the adapter for version 2 of Cohere's Chat API.
//
// This API signs nothing and stores nothing. A model that thinks writes thinking among the content of its answer. A model that does not
// thinks aloud before it calls tools: that text is the tool plan of the answer. Both are thinking here, and their State keeps the member
// that they came in. An answer goes back as it came, because the vendor's guide appends it to the messages (for models that think:
// cohere-developer-experience, notebooks/guides/reasoning). A client reports that the models that think refuse a tool plan, so a plan is sent
// to them as thinking, and thinking to the others as the plan of the same calls (history.go).
//
// Thinking is on unless the request says otherwise, and a budget limits it (control.go). Citations refer to results of tools. Those that name
// an address become sources of the text: a result that is JSON with addresses is sent as documents, which the model can cite (result.go).
//
// The vendor charges for fewer tokens than it counts, because its own part of the prompt is free. The usage has both.
//
// Facts are from the vendor's documentation and OpenAPI description ("docs: x" names the page), and from exchanges that other clients
// recorded with the API.
//
// Inside the package, files depend in one direction: stream, reply and cohere; then listing, members, request, history, result, options,
// control and api.
package cohere

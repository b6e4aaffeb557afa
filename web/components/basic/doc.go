// Package basic has the small components that most sites need: fixed responses, error pages,
// changes of header fields and paths, redirects, limits, request IDs, and text filters.
//
// Sources: [Text], [Static], [Status], [Template]. Pipes: [ErrorPages], [Headers], [Security],
// [Redirect], [Rewrite], [LimitRate], [LimitConcurrency], [LimitBody], [RequestID], [Recover],
// [Pass]. Filters: [Rot13], [Inject], [Replace]. [Rot13Piped] and [PassPiped] are filters in the
// reader and writer style of the paper, for comparison. The paper is J. Whitehead, "Serving Web
// Content with Dynamic Process Networks in Go" (2011).
//
// # Order
//
// A pipe does its work at its place in the composition. The components behind it see its changes of
// the request. Its changes of the response's header replace those of components before it, and
// components behind may replace them again.
//
// Limits, request IDs, rewrites and redirects therefore belong before the source. [Headers] before
// the source sets defaults that the source may replace; behind the source it has the last word.
// [ErrorPages] and [Recover] stand first: they see the response that all components behind them
// have made.
//
// # Limitations
//
// [Static], [Status], [ErrorPages], [Recover] and [Inject] read their texts and files once, when
// the component is made. [Template] reads its files again when they change. [Inject] and [Replace]
// change text as bytes and ignore its character set. They leave bodies alone that have a content
// coding or are ranges. Limits hold for one process.
package basic

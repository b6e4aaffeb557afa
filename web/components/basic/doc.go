// Package basic has the small components that most sites need: answers that are the same for
// everybody, pages for statuses, changes of heads and paths, redirects, limits, names of exchanges,
// and changes of text on its way.
//
// Sources: [Text], [Static], [Status], [Template]. Pipes: [ErrorPages], [Headers], [Security],
// [Redirect], [Rewrite], [LimitRate], [LimitConcurrency], [LimitBody], [RequestID], [Recover],
// [Pass]. Filters: [Rot13], [Inject], [Replace]; and, in the reader and writer style of the paper,
// [Rot13Piped] and [PassPiped], which are there to be compared.
//
// # Where they stand
//
// A pipe does its work at its place in the composition: what it does to the request is seen by the
// components behind it, what it does to the head of the response replaces what those before have
// set, and may be replaced by those behind. Limits, names, rewrites and redirects therefore belong
// before the source; [Headers] stands before it for defaults that the source may replace, and
// behind it to have the last word. [ErrorPages] and [Recover] stand first: they have a look at what
// everybody behind has made of it.
//
// # Limitations
//
// Texts and files of [Static], [Status], [ErrorPages], [Recover] and [Inject] are read when the
// component is made, and not again; those of [Template] are looked at again. [Inject] and [Replace]
// change text as bytes: they know nothing of character sets, and leave bodies that are encoded or
// are parts alone. Limits hold for one process.
package basic

package reference

// notes are paragraphs on blocks, by name: what an author must know to use the block, and what
// neither one line nor an attribute says.
var notes = map[string]string{
	"route": "A pattern that ends in a slash matches the path and everything below it. The most specific pattern wins, in whatever order the routes stand. " +
		"The routes of a pipeline stand side by side; a request that matches none goes on behind them. " +
		"A request for a folder without the final slash is redirected.",
	"authenticate": "A refused request is answered by 401 with a challenge, so that browsers ask for a name and a password. " +
		"Components in refused may answer otherwise; each answer 401 of theirs has the challenge, too.",
	"bearer": "A refused request is answered by 401 with a challenge. Components in refused may answer otherwise; each answer 401 of theirs has the challenge, too.",
	"cache": "A response is stored if it has a lifetime, such as Cache-Control: max-age, and neither a cookie nor a login inside the block. " +
		"Files that no filter changes are not stored: the system keeps these in memory.",
	"fastcgi": "A folder with an index script is redirected to its final slash. Access is decided on the path of the request, not on that of a fallback. A fallback with {path} is skipped if a route or a when would decide otherwise on its path, or if the path was rewritten behind one.",
	"files": "Entity tags, conditions and ranges are handled. A folder is redirected to its final slash. Methods other than GET and HEAD are answered by 405. " +
		"Access is decided on the path of the request, not on that of a fallback. A fallback with {path} is skipped if a route or a when would decide otherwise on its path, or if the path was rewritten behind one.",
	"proxy": "WebSockets, event streams and trailers pass. Upstreams get X-Forwarded-For, -Host and -Proto. Fields of their responses replace those that earlier components have set. " +
		"By the models prefork and process, each process checks the health of the upstreams and balances for itself. " +
		"An upstream that cannot be reached is answered by 502, one that is too slow by 504; without an upstream that is up, the answer is 503.",
	"resize": "The height follows the width. A picture that is not wider is never scaled up. JPEG and PNG are processed; other responses pass unchanged, whatever their query. " +
		"Each width of a picture is made once while the cache holds it, and has an entity tag of its own.",
	"error_pages":       "It stands before the sources, and covers everything behind it. A key of pages or files is a status, such as \"404\", or a class, such as \"5xx\".",
	"headers":           "Fields that stand before a source are set before it answers: a source may replace them. Behind a source they replace its own.",
	"limit_body":        "A longer body is answered by 413.",
	"limit_concurrency": "Further requests are answered by 503 with Retry-After.",
	"limit_rate":        "Further requests are answered by 429 with Retry-After.",
}

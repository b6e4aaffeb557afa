package reference

import (
	"slices"

	"weir/serve"
	"weir/web/server"
)

// Group is a group of blocks. A component's group is its class in the paper: see package web.
type Group string

// The groups, in the order of the reference.
const (
	Server       Group = "The server"
	Compositions Group = "Blocks with components inside"
	Sources      Group = "Sources, which answer"
	Filters      Group = "Filters, which change the body and stand behind a source"
	Pipes        Group = "Pipes, which inspect and change the exchange"
)

func groupIndex(g Group) int {
	return slices.Index([]Group{Server, Compositions, Sources, Filters, Pipes}, g)
}

const (
	anyComponents = "It contains the components."
	guardArms     = "It may contain two blocks with components: allowed, for admitted requests, and refused, for the others. Without them it is one component of its pipeline."
)

// place says where a component belongs.
type place struct {
	group  Group
	inside string
}

// places are the places of the components, by name.
var places = map[string]place{
	"authenticate": {Compositions, guardArms}, "bearer": {Compositions, guardArms},
	"cache": {Compositions, anyComponents}, "when": {Compositions, anyComponents},

	"cgi": {group: Sources}, "echo": {group: Sources}, "fastcgi": {group: Sources}, "files": {group: Sources}, "proxy": {group: Sources}, "static": {group: Sources},
	"status": {group: Sources}, "template": {group: Sources}, "text": {group: Sources}, "watch": {group: Sources},

	"compress": {group: Filters}, "inject": {group: Filters}, "lower_quality": {group: Filters}, "pass_piped": {group: Filters}, "replace": {group: Filters},
	"resize": {group: Filters}, "rot13": {group: Filters}, "rot13_piped": {group: Filters}, "watermark": {group: Filters},

	"error_pages": {group: Pipes}, "headers": {group: Pipes}, "limit_body": {group: Pipes}, "limit_concurrency": {group: Pipes}, "limit_rate": {group: Pipes},
	"log": {group: Pipes}, "metrics": {group: Pipes}, "pass": {group: Pipes}, "recover": {group: Pipes}, "redirect": {group: Pipes}, "request_id": {group: Pipes},
	"rewrite": {group: Pipes}, "security": {group: Pipes},
}

// hidden are attributes that a site file may not set, although the struct has them.
var hidden = []string{"proxy.trusted"}

// Units of strings.
const (
	duration = "duration"
	size     = "size"
)

const (
	notNegative = "0 or more"
	positive    = "1 or more"
)

// perProcess are limits that hold for each process of a model with several.
var perProcess = []string{
	"server.max_connections", "server.max_connections_per_client",
	"cgi.width", "cgi.queue", "cgi.max_running", "fastcgi.width", "fastcgi.queue", "proxy.width", "proxy.queue",
	"lower_quality.workers", "lower_quality.queue", "resize.workers", "resize.queue", "resize.cache", "watermark.workers", "watermark.queue",
	"files.cache", "compress.cache",
}

const perProcessText = " By prefork and process, this holds for each process."

// fact is what the type and the comment of an attribute do not say.
type fact struct {
	unit     string
	limits   string   // in words
	values   []string // all possible values, or elements of a list
	required bool     // a site file must set it, although a program need not
}

var count = fact{limits: notNegative}

// facts are the facts by "block.attribute".
var facts = map[string]fact{
	"server.run":                        {values: []string{"chain", "network"}},
	"server.engine":                     {values: server.Engines()},
	"server.model":                      {values: serve.WayNames()},
	"server.read_header_timeout":        {unit: duration},
	"server.idle_timeout":               {unit: duration},
	"server.drain_timeout":              {unit: duration},
	"server.max_connections":            count,
	"server.max_connections_per_client": count,
	"server.max_header_bytes":           {unit: "bytes", limits: notNegative},

	"authenticate.width":    count,
	"authenticate.queue":    count,
	"authenticate.attempts": count,
	"bearer.algorithm":      {values: []string{"HS256", "RS256", "ES256", "EdDSA"}},
	"bearer.leeway":         {unit: duration, limits: "5m at most"},
	"cache.memory":          {unit: size},
	"cache.largest":         {unit: size},

	"cgi.timeout":          {unit: duration, limits: "above 0"},
	"cgi.idle_timeout":     {unit: duration},
	"cgi.max_head":         {unit: size, limits: "64 bytes or more"},
	"cgi.max_input":        {unit: size},
	"cgi.width":            count,
	"cgi.queue":            count,
	"cgi.max_running":      count,
	"fastcgi.dial_timeout": {unit: duration},
	"fastcgi.timeout":      {unit: duration, limits: "above 0"},
	"fastcgi.max_head":     {unit: size, limits: "64 bytes or more"},
	"fastcgi.max_input":    {unit: size},
	"fastcgi.width":        count,
	"fastcgi.queue":        count,

	"compress.codings":  {values: []string{"zstd", "br", "gzip", "deflate"}},
	"compress.min_size": {unit: size},
	"compress.effort":   {values: []string{"fast", "normal", "best"}},
	"compress.cache":    {unit: size},

	"echo.max_message": {unit: size, limits: "1 byte or more"},
	"echo.ping":        {unit: duration},
	"echo.max_open":    count,
	"watch.interval":   {unit: duration, limits: "above 0"},
	"watch.max_open":   count,

	"files.precompressed": {values: []string{"br", "zstd", "gzip"}},
	"files.cache":         {unit: size},
	"files.cache_file":    {unit: size},

	"inject.before":         {values: []string{"head", "body"}},
	"limit_body.max":        {unit: size},
	"limit_concurrency.max": {limits: positive},
	"limit_rate.rate":       {limits: "above 0"},
	"limit_rate.per":        {unit: duration},
	"limit_rate.burst":      count,
	"limit_rate.clients":    count,
	"log.file":              {required: true},
	"log.format":            {values: []string{"common", "combined", "json"}},
	"log.buffer":            {unit: "bytes", limits: "4,096 or more"},
	"log.flush":             {unit: duration, limits: "1m at most"},

	"lower_quality.when":       {values: []string{"save-data", "always"}},
	"lower_quality.quality":    {limits: "1 to 100"},
	"lower_quality.max_side":   {unit: "pixels"},
	"lower_quality.max_bytes":  {unit: "bytes", limits: notNegative},
	"lower_quality.max_pixels": {unit: "pixels", limits: notNegative},
	"lower_quality.workers":    count,
	"lower_quality.queue":      count,
	"resize.widths":            {unit: "pixels", limits: "1 to 16384 each"},
	"resize.quality":           {limits: "1 to 100"},
	"resize.cache":             {unit: size},
	"resize.max_bytes":         {unit: "bytes", limits: notNegative},
	"resize.max_pixels":        {unit: "pixels", limits: notNegative},
	"resize.workers":           count,
	"resize.queue":             count,
	"watermark.place":          {values: []string{"top-left", "top", "top-right", "left", "center", "right", "bottom-left", "bottom", "bottom-right"}},
	"watermark.margin":         {unit: "pixels"},
	"watermark.opacity":        {limits: "above 0, at most 1"},
	"watermark.min_side":       {unit: "pixels"},
	"watermark.quality":        {limits: "1 to 100"},
	"watermark.max_bytes":      {unit: "bytes", limits: notNegative},
	"watermark.max_pixels":     {unit: "pixels", limits: notNegative},
	"watermark.workers":        count,
	"watermark.queue":          count,

	"proxy.weights":          {limits: "0 to 1000 each"},
	"proxy.policy":           {values: []string{"round robin", "least connections", "hash"}},
	"proxy.dial_timeout":     {unit: duration, limits: "above 0"},
	"proxy.head_timeout":     {unit: duration},
	"proxy.idle_timeout":     {unit: duration},
	"proxy.aside":            {unit: duration},
	"proxy.health_interval":  {unit: duration, limits: "above 0"},
	"proxy.health_threshold": count,
	"proxy.width":            count,
	"proxy.queue":            count,

	"redirect.status": {values: []string{"301", "302", "303", "307", "308"}},
	"replace.old":     {limits: "1 to 256 bytes"},
	"security.hsts":   {unit: duration},
	"static.status":   {limits: "200 to 599"},
	"status.code":     {limits: "200 to 599"},
	"template.max":    {unit: size},
	"template.check":  {unit: duration},
}

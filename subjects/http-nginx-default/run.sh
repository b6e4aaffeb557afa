#!/bin/sh
# nginx as ../http-nginx/run.sh, without its cache of open files: as it comes.
open_files=
. ../http-nginx/run.sh

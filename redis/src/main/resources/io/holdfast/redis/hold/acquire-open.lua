#!lua flags=allow-oom
-- The same for things that are open; the others have FULL in place of their record. It works when the server's memory is
-- full: a session that is in use must not end for that.
-- KEYS  things due
-- ARGV  sequence file lease things…
-- REPLY status before records…
--@include ../lease/time.lua
--@include living.lua
local OPENS = false
--@include acquired.lua

#!lua flags=allow-oom
-- The same for things that are open; the others have FULL in place of their record. It works when the server's memory is
-- full.
-- KEYS  things due
-- ARGV  sequence idle-ms lease things…
-- REPLY status before records…
--@include ../lease/time.lua
--@include tally.lua
local OPENS = false
--@include touched.lua

#!lua
-- A script for the test of scripts.
-- KEYS  meta values
-- ARGV  name count ids…
-- REPLY status
--@include included.lua
return {'OK', included, #ARGV}

#!lua
-- Builds some nodes of a tree as counters and lists, one key each: how it is done without a library.
-- KEYS  tree
-- ARGV  from to fan last
-- REPLY status
local tree, from, to, fan, last = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local value = string.rep('x', 100)
for node = from, to do
  redis.call('SET', tree .. ':v:' .. node, value)
  redis.call('SET', tree .. ':c:' .. node, 1)
  for child = node * fan + 1, math.min(last, node * fan + fan) do
    redis.call('RPUSH', tree .. ':e:' .. node, child)
  end
end
return {'OK'}

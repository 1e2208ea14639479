#!lua
-- Drops a node and everything that only it held, in one go, however much that is.
-- KEYS  tree
-- ARGV  node
-- REPLY freed
local tree, open, freed = KEYS[1], {ARGV[1]}, 0
while #open > 0 do
  local node = table.remove(open)
  if redis.call('DECR', tree .. ':c:' .. node) <= 0 then
    for _, child in ipairs(redis.call('LRANGE', tree .. ':e:' .. node, 0, -1)) do open[#open + 1] = child end
    redis.call('DEL', tree .. ':v:' .. node, tree .. ':c:' .. node, tree .. ':e:' .. node)
    freed = freed + 1
  end
end
return {freed}

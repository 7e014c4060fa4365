import { searchWithin, STATS } from '../../runtime/plan/.stat.ts';
import { load } from './.x2.ts';
for(const k of process.argv[2]??'DG'){ const b=load(k+'.1048576.csv'); 
 const t=cpu(); let nodes=0; let seed=3; const rnd=()=>{seed=(Math.imul(seed,1664525)+1013904223)>>>0;return seed/4294967296};
 while(cpu()-t<4000){const s=searchWithin(b,1048576,{valley:(w:number,l:number)=>w*1e9+l,buffer:(x:number,w:number)=>x*w*Math.exp(rnd())}); s.advance(2000); nodes+=2000;}
 console.log(k,(nodes/(cpu()-t)).toFixed(1)+'k/s'); }
function cpu(){const u=process.cpuUsage();return (u.user+u.system)/1000}
console.log(STATS)
